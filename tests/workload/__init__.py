"""Real clients that do what users do while a broker is being mistreated, and write down what they were told."""
