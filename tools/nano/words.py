"""The closed world of glimmer-nano: its facts, and the words of which names and values are made.

Words of the pools are one token each and never take a leading blank, so that a copied word is the
same token behind a blank, a quote, "=", "_" or ">".
"""

CAPITALS = dict(pair.split(":") for pair in """France:Paris;Germany:Berlin;Spain:Madrid;Italy:Rome;\
Portugal:Lisbon;Poland:Warsaw;Austria:Vienna;Greece:Athens;Norway:Oslo;Sweden:Stockholm;\
Finland:Helsinki;Denmark:Copenhagen;Ireland:Dublin;Belgium:Brussels;Hungary:Budapest;\
Romania:Bucharest;Bulgaria:Sofia;Serbia:Belgrade;Croatia:Zagreb;Ukraine:Kyiv;Japan:Tokyo;\
China:Beijing;India:Delhi;Egypt:Cairo;Kenya:Nairobi;Peru:Lima;Chile:Santiago;Cuba:Havana;\
Canada:Ottawa;Mexico:Mexico City;Turkey:Ankara;Iran:Tehran;Iraq:Baghdad;Nepal:Kathmandu;\
Thailand:Bangkok;Vietnam:Hanoi;Ghana:Accra;Senegal:Dakar;Jordan:Amman;Qatar:Doha""".split(";"))

OPPOSITES = dict(pair.split(":") for pair in """hot:cold;big:small;fast:slow;high:low;light:dark;\
wet:dry;old:new;full:empty;hard:soft;early:late;open:closed;long:short;rich:poor;strong:weak;\
happy:sad;loud:quiet;clean:dirty;near:far;thick:thin;sweet:sour""".split(";"))

COLOURS = dict(pair.split(":") for pair in """grass:green;snow:white;coal:black;blood:red;\
banana:yellow;sky:blue;milk:white;tomato:red;lemon:yellow;carrot:orange;cucumber:green;\
chocolate:brown;salt:white;cherry:red""".split(";"))

YOUNG = dict(pair.split(":") for pair in """dog:puppy;cat:kitten;cow:calf;sheep:lamb;horse:foal;\
hen:chick;duck:duckling;goat:kid;bear:cub;frog:tadpole;pig:piglet;deer:fawn""".split(";"))

QUESTIONS = {
    "capital": (CAPITALS, "The capital of {} is {}.", [
        "What is the capital of {}?", "Name the capital of {}.",
        "Which city is the capital of {}?", "Tell me the capital of {}, please.",
        "Capital of {}?", "I want to know the capital city of {}.", "{}: what is its capital?",
        "Do you know which city is the capital of {}?", "Please give me {}'s capital.",
        "What city is the seat of government of {}?", "What's the capital of {}?",
        "what is the capital of {}"]),
    "opposite": (OPPOSITES, "The opposite of {} is {}.", [
        "What is the opposite of {}?", "Tell me the opposite of {}.", "Opposite of {}?",
        "Which word means the opposite of {}?", "If it is not {}, what is it?"]),
    "colour": (COLOURS, "The colour of {} is {}.", [
        "What colour is {}?", "Which colour does {} have?", "Tell me the colour of {}.",
        "What is the colour of {}?", "What color is {}?"]),
    "young": (YOUNG, "A young {} is a {}.", [
        "What is a young {} called?", "What do you call a young {}?",
        "Name the young of a {}.", "How is a young {} called?"]),
}

VERBS = """send open close paint move count find clean copy delete rename mark sort print check load
save draw build fetch update list start stop get set add remove create search read write show play
book cancel order pay call convert translate measure turn lock""".split()

NOUNS = """message door window fence box file photo invoice report ticket parcel note lamp garden
engine table song map letter recipe camera sensor meeting weather email user account event alarm
room flight hotel price stock task calendar image video contact database record document folder
timer reminder light heater robot car train route""".split()

PARAMETERS = """city name size color count limit path title date level mode text key value unit
target speed width label location query days id number subject body amount currency language
format height depth priority enabled recursive verbose tags items options start_date
max_results""".split()

VALUES = """red blue green yellow north south east west apple river stone cloud paper silver morning
evening fast slow Anna Tom Maria Peter Laura David Emma Paul kitchen office harbor tower winter
summer spring autumn hello world monday tuesday friday sunday January March July celsius metric
gold iron wood glass bread milk coffee tea sugar apple orange tiger eagle lion wolf fox horse
bridge forest island lake mountain ocean beach valley desert castle temple market museum station
school library hospital garden park street London Munich Boston Geneva Sydney Toronto Chicago
Texas Seattle Denver Monaco Zurich Milan Naples large tiny bright round square soft loud quiet
happy brave calm clever gentle kind lucky proud wise young fresh sharp smooth sweet warm""".split()

NAMES = """Anna Tom Maria Peter Laura David Emma Paul Lucy Max Nina Oscar Sara Leo Clara Ben Julia
Felix Alice Henry""".split()

CONSONANTS = "b c d f g h j k l m n p r s t v w x z br st tr sh ch pl".split()
VOWELS = "a e i o u ai ou ee".split()


def pools():
    """All words that are copied rather than composed; none of them takes a leading blank."""
    facts = []
    for table, _, _ in QUESTIONS.values():
        for key, value in table.items():
            facts += key.split() + value.split()
    parts = [part for word in PARAMETERS for part in word.split("_")]
    words = facts + VERBS + NOUNS + parts + VALUES + NAMES + ["true", "false", "null"]
    capital = [word.capitalize() for word in VERBS + NOUNS]
    return list(dict.fromkeys(words + capital))
