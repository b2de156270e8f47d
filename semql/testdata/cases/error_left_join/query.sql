SELECT s.name FROM student s LEFT JOIN teacher t ON s.advisor = t.id
