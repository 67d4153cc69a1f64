/** The first user's name. */
export const FIRST_EMAIL = 'owner@localhost';

/** What the first run made. Password and key exist here and nowhere else. */
export interface FirstAccount {
  readonly email: string;
  readonly password: string;
  readonly key: string;
}

/** A first account whose secrets nobody saw: its run ended before it showed them. */
export interface UnshownAccount {
  /** Its id. */
  readonly account: string;
  readonly hasOwner: boolean;
}
