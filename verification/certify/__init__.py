"""Certificates: proofs that one instance violates, or obeys, one inequality. No torch, no adversary code."""
