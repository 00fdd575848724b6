"""An invented world whose events follow planted rules, so that right answers are known."""
