"""What the explorer asks for beyond single answers: ranges of days, questions, lists, steps."""
