"""What tests other people's programs with depyf; see `depyf.testing.replace`."""
