SELECT s.name FROM student s JOIN teacher t ON s.advisor = t.id AND t.salary > 1000
