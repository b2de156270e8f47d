SELECT * FROM student AS s JOIN teacher AS t ON s.advisor = t.id
