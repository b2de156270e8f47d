SELECT o.date FROM `order` o JOIN team t ON o.team_id = t.id WHERE t.name = 'x'
