/** Words that most texts of their language hold: needing one of them says little. */
export const COMMON_WORDS: ReadonlySet<string> = new Set(
  `a about after all also an and any are as at back be because been but by can come could day do does even first for
  from get give go good had has have he her him his how i if in into is it its just know like look make many me may
  more most must my new no not now of on one only or other our out over people read run see set she should so some
  such take than that the their them then there these they think this those time to two up us use used user want was
  way we well were what when where which while who will with work would year yes you your write say said send show
  here each every very per via add text file data name list page please need next start end open help call
  de la le les des et en un une du que qui est dans pour par sur au aux ce se sa son ne pas plus el los las del y por
  con para una su al lo como mas o es der die das und ist den dem von zu mit auf fur im nicht ein eine als auch sich
  an wird aus bei nach oder werden il di che per non si della da sono gli nel het een van op te dat voor niet zijn do
  os uma com nao dos na em`.split(/\s+/),
);
