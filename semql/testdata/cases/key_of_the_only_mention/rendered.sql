SELECT T1.student FROM takes AS T1 JOIN student AS T2 ON T1.student = T2.stu_id WHERE T2.age = 20
