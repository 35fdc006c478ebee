//! What the book needs: the preprocessor and the checks.
