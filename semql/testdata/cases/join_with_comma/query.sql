SELECT student.name FROM student, teacher WHERE student.advisor = teacher.id AND teacher.salary > 1000
