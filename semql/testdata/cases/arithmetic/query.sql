SELECT max(age) - min(age), (age + 1) * 2 FROM student
