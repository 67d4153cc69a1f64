/** Words that orders to a model are made of; enough of them show that a reading of garbled text makes sense. */
export const STRONG_WORDS: readonly string[] = (
  'ignore disregard forget override bypass overrule previous preceding instruction instructions prompt prompts system ' +
  'guidelines restrictions reveal password passwords secret secrets credentials jailbreak jailbroken unrestricted ' +
  'uncensored exfiltrate pretend confidential'
).split(' ');

/** Words that stand between those. */
export const PLAIN_WORDS: readonly string[] = (
  'all any the your prior earlier above developer guideline directive directives restriction safety filter filters ' +
  'credential token tokens execute command commands assistant admin administrator policy policies hidden unlimited ' +
  'disable disabled obey comply delete transfer forward instead immediately ' +
  ' you are now must this that these those every each rule rules act mode from with and for not never ' +
  'don do does have has been given told before after new following follow only always tell show print repeat output ' +
  'say write send email mail message file files key keys api data user users to me my of in on is it be as no or us we ' +
  'please anything everything nothing chat model bot ai gpt dan text words what who how will can cannot should would ' +
  'initial original first last context conversation memory role play roleplay free without limits ethics moral ' +
  'harmful illegal answer respond response reply start begin end stop enter into activate enable enabled information about ' +
  'access account bank money url link click visit http https www com full exact verbatim word line list code run shell'
).split(' ');
