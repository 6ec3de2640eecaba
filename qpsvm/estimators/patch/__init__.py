"""The estimators in the place of scikit-learn's own."""
