"""Experiments that chapters run in part and scripts in whole; each uses the blocks."""
