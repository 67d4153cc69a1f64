"""The model folder: export, calibration and its checks."""
