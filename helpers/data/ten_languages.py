"""One short paragraph in ten languages, written for this course."""

# The English words are counted for every language: the content is the same.
PARAGRAPH = {
    "English": "Every morning the old man walks along the river. He brings bread for the ducks and "
    "a book for himself. When it rains, he stays at home and listens to the radio. Yesterday he "
    "met a little girl who asked him how old the river is. He laughed and said that nobody knows.",
    "French": "Chaque matin, le vieil homme se promène le long de la rivière. Il apporte du pain "
    "pour les canards et un livre pour lui-même. Quand il pleut, il reste à la maison et écoute la "
    "radio. Hier, il a rencontré une petite fille qui lui a demandé quel âge a la rivière. Il a ri "
    "et a dit que personne ne le sait.",
    "Spanish": "Cada mañana el anciano camina junto al río. Lleva pan para los patos y un libro "
    "para él. Cuando llueve, se queda en casa y escucha la radio. Ayer conoció a una niña pequeña "
    "que le preguntó cuántos años tiene el río. Él se rio y dijo que nadie lo sabe.",
    "German": "Jeden Morgen geht der alte Mann am Fluss entlang. Er bringt Brot für die Enten und "
    "ein Buch für sich selbst mit. Wenn es regnet, bleibt er zu Hause und hört Radio. Gestern traf "
    "er ein kleines Mädchen, das ihn fragte, wie alt der Fluss ist. Er lachte und sagte, dass es "
    "niemand weiß.",
    "Finnish": "Joka aamu vanha mies kävelee joen vartta. Hän tuo leipää ankoille ja kirjan "
    "itselleen. Kun sataa, hän jää kotiin ja kuuntelee radiota. Eilen hän tapasi pienen tytön, "
    "joka kysyi häneltä, kuinka vanha joki on. Hän nauroi ja sanoi, ettei kukaan tiedä.",
    "Turkish": "Yaşlı adam her sabah nehir boyunca yürür. Ördekler için ekmek, kendisi için bir "
    "kitap getirir. Yağmur yağdığında evde kalır ve radyo dinler. Dün ona nehrin kaç yaşında "
    "olduğunu soran küçük bir kızla karşılaştı. Güldü ve bunu kimsenin bilmediğini söyledi.",
    "Greek": "Κάθε πρωί ο γέρος περπατάει δίπλα στο ποτάμι. Φέρνει ψωμί για τις πάπιες και ένα "
    "βιβλίο για τον εαυτό του. Όταν βρέχει, μένει στο σπίτι και ακούει ραδιόφωνο. Χθες συνάντησε "
    "ένα μικρό κορίτσι που τον ρώτησε πόσο χρονών είναι το ποτάμι. Γέλασε και είπε ότι κανείς δεν "
    "ξέρει.",
    "Russian": "Каждое утро старик гуляет вдоль реки. Он приносит хлеб для уток и книгу для себя. "
    "Когда идёт дождь, он остаётся дома и слушает радио. Вчера он встретил маленькую девочку, "
    "которая спросила его, сколько лет реке. Он засмеялся и сказал, что этого никто не знает.",
    "Hindi": "हर सुबह बूढ़ा आदमी नदी के किनारे टहलता है। वह बत्तखों के लिए रोटी और अपने लिए "
    "एक किताब लाता है। जब बारिश होती है, तो वह घर पर रहता है और रेडियो सुनता है। कल वह एक "
    "छोटी लड़की से मिला जिसने उससे पूछा कि नदी कितनी पुरानी है। वह हँसा और बोला कि यह कोई "
    "नहीं जानता।",
    "Chinese": "每天早上，老人都沿着河边散步。他给鸭子带面包，给自己带一本书。"
    "下雨的时候，他待在家里听收音机。昨天他遇到一个小女孩，她问他这条河多大年纪了。"
    "他笑了，说没有人知道。",
}
