/** The role of a member: an owner may do everything, an analyst review and mark, a viewer look. */
export type Role = 'owner' | 'analyst' | 'viewer';

/** A person who signs in. */
export interface User {
  /** `user_` and 16 hex digits. */
  readonly id: string;
  /** Lower case. */
  readonly email: string;
  readonly passwordHash: string;
  readonly createdAt: number;
  /**
   * The account whose invitation made the user, null for one who signed up or whom the operator made. An invitation proves
   * nothing about an e-mail: whoever had its link made this user, beside the one who signed up with the e-mail.
   */
  readonly invitedTo: string | null;
  /** The account used last. */
  readonly lastAccountId: string | null;
}

/** A user in an account. */
export interface Member {
  readonly accountId: string;
  readonly userId: string;
  readonly email: string;
  readonly role: Role;
}

export interface Invitation {
  readonly id: string;
  readonly accountId: string;
  readonly email: string;
  readonly role: Role;
  readonly expiresAt: number;
}

/** Invitations to an account. Times are milliseconds since 1970. */
export interface InvitationStore {
  /** The token is shown once; it stands for the invitation until `expiresAt`. */
  invite(
    accountId: string,
    email: string,
    role: Role,
    expiresAt: number,
  ): Promise<Invitation & { readonly token: string }>;
  invitations(accountId: string): Promise<readonly Invitation[]>;
  findInvitation(token: string): Promise<Invitation | undefined>;
  /**
   * Makes another user of the invitation's e-mail, a member of this account alone, and the token void; all or nothing.
   * @throws StoreError `STORE_NOT_FOUND`; `STORE_CONFLICT` where an invitation to this account made such a user already.
   */
  join(token: string, passwordHash: string): Promise<Member>;
  /** Makes the user a member and the token void. @throws StoreError STORE_NOT_FOUND */
  accept(token: string, userId: string): Promise<Member>;
  withdrawInvitation(accountId: string, id: string): Promise<void>;
}

/** Users, their accounts, and invitations. Times are milliseconds since 1970. E-mails compare in lower case. */
export interface UserStore extends InvitationStore {
  /** The password comes hashed. @throws StoreError `STORE_CONFLICT` for a known e-mail. */
  create(email: string, passwordHash: string): Promise<User>;
  /**
   * A user and the account that they own, both or neither. The password comes hashed.
   * @throws StoreError `STORE_CONFLICT` for a known e-mail; `STORE_NOT_FOUND` for an unknown plan.
   */
  signUp(order: {
    readonly email: string;
    readonly passwordHash: string;
    readonly accountName: string;
    readonly plan: string;
  }): Promise<Member>;
  /** Makes one of several users who are the same person: the first takes over the accounts of the others, who are gone. */
  merge(into: string, others: readonly string[]): Promise<void>;
  get(id: string): Promise<User | undefined>;
  /** The user who signed up with the e-mail, or else the first who was invited by it. */
  findByEmail(email: string): Promise<User | undefined>;
  /** All users with an e-mail: the one who signed up first, then those invited, latest first; at most eight. */
  allByEmail(email: string): Promise<readonly User[]>;
  /** Ends every session of the user as well, and forgets their devices. */
  setPassword(id: string, passwordHash: string): Promise<void>;
  /**
   * Adds a member or changes the role. Where an owner gets another role, the account's pending invitations are withdrawn, as by
   * `removeMember`: they may have kept a link. @throws StoreError `STORE_CONFLICT` where no owner would be left.
   */
  setMember(accountId: string, userId: string, role: Role): Promise<void>;
  /** Ends the user's sessions in the account as well. @throws StoreError `STORE_CONFLICT` where the account would have no owner left. */
  removeMember(accountId: string, userId: string): Promise<void>;
  /** By e-mail. */
  members(accountId: string): Promise<readonly Member[]>;
  /** The accounts of a user, oldest first. */
  memberships(userId: string): Promise<readonly Member[]>;
}

/** A signed-in browser. */
export interface Session {
  readonly userId: string;
  readonly accountId: string;
  readonly createdAt: number;
  readonly expiresAt: number;
}

/** Browsers that somebody signed in from, by opaque token; only a hash of it is kept. */
export interface DeviceStore {
  /** Gives the token for the cookie. */
  create(userId: string): Promise<string>;
  /** Gives the id of its user; undefined for an unknown token. */
  find(token: string): Promise<string | undefined>;
}

/** Normalises an e-mail address: users, invitations and attempts are found by it. */
export function normalizeEmail(email: string): string {
  return email.trim().toLowerCase();
}

/** Returns the key by which failed attempts at an e-mail are counted. */
export function emailAttempts(email: string): string {
  return `email ${normalizeEmail(email)}`;
}

/** Attempts at passwords. Each counts as failed until it is taken back. Only digests of the names are kept. */
export interface AttemptStore {
  /**
   * Counts an attempt and gives 0, or gives the milliseconds to wait and counts nothing. `delayOf` gives how long the next
   * one has to wait after so many failures. A day without attempts forgets them.
   */
  begin(name: string, delayOf: (failures: number) => number): Promise<number>;
  /** Takes one back: it was right. */
  takeBack(name: string): Promise<void>;
  /** Forgets all of them. True where there were any. */
  forget(name: string): Promise<boolean>;
}

/** Sessions by opaque token; only a hash of it is kept. */
export interface SessionStore {
  /** Gives the token for the cookie. The account is the user's last one from then on. */
  create(userId: string, accountId: string, expiresAt: number): Promise<string>;
  /** Undefined for an unknown or expired token. */
  find(token: string): Promise<Session | undefined>;
  /** Another of the user's accounts; their last one from then on. */
  switchAccount(token: string, accountId: string): Promise<void>;
  end(token: string): Promise<void>;
}

/** A user's second factor: time-based one-time passwords (RFC 6238). */
export interface SecondFactor {
  /** Base32. */
  readonly secret: string;
  /** Whether a first code proved that the user has the secret; sign-in requires codes from then on. */
  readonly confirmed: boolean;
  /** The time step of the last code taken. */
  readonly lastStep: number;
  readonly recoveryLeft: number;
}

/** Second factors by user. Secrets are sealed, of recovery codes hashes are kept. */
export interface SecondFactorStore {
  get(userId: string): Promise<SecondFactor | undefined>;
  /** Sets a secret that is to be confirmed, with fresh recovery codes. @throws StoreError STORE_CONFLICT where one is confirmed */
  begin(userId: string, secret: string, recoveryCodes: readonly string[]): Promise<void>;
  /** Takes a code's time step: false where it, or a later one, was taken before. Confirms the factor. */
  takeStep(userId: string, step: number): Promise<boolean>;
  /** Uses a recovery code; false if it is wrong or already used. */
  takeRecoveryCode(userId: string, code: string): Promise<boolean>;
  /** True where there was one. */
  remove(userId: string): Promise<boolean>;
}
