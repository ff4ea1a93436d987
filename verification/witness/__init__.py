"""Witnesses: files from which anyone can replay a refutation. Strict JSON, no code, no pickles."""
