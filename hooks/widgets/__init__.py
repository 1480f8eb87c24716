"""What readers operate: the calculator, the replay, their own text in tokens."""
