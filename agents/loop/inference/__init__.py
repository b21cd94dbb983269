"""Inference: the models, scripted and behind endpoints."""
