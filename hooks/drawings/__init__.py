"""Altair drawings, each for a wide or a narrow screen. They know neither the book nor a chart's name."""
