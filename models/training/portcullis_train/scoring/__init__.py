"""Scores as the runtime gives them, the calibration, and figures over both."""
