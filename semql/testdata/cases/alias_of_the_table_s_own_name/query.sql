SELECT student.name FROM student AS T1 WHERE T1.age = 1
