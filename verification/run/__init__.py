"""Running: from settings to jobs, through an engine or shards into a store, and back as judgements."""
