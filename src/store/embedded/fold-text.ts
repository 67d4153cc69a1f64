/** A text as searches compare it: upper and lower case alike, whatever stands around a letter (the Greek final sigma). */
export const foldText = (text: string): string => text.toLowerCase().replaceAll('ς', 'σ');
