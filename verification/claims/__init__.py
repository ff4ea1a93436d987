"""What is on trial: one file a family of statements, by paper; the ids stand in the first line of the file."""
