"""Citing: of works on pages, and of pages, charts and numbers by others."""
