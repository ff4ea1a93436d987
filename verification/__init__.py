"""The trial: every published claim about these networks, put to the test with evidence that anyone can replay."""
