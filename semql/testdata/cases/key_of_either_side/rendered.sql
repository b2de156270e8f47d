SELECT T1.stu_id FROM student AS T1 JOIN takes AS T2 ON T1.stu_id = T2.student WHERE T1.age = 20 AND T2.grade = 1
