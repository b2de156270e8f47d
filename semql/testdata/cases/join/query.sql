SELECT s.name, t.name FROM student AS s JOIN teacher AS t ON s.advisor = t.id WHERE t.salary > 1000
