/** What a member may do: an owner everything, a viewer look. */
export type Role = 'owner' | 'viewer';

/** A person who signs in. */
export interface User {
  /** `user_` and 16 hex digits. */
  readonly id: string;
  /** Lower case. */
  readonly email: string;
  readonly passwordHash: string;
  readonly createdAt: number;
}

/** A user in an account. */
export interface Member {
  readonly accountId: string;
  readonly userId: string;
  readonly email: string;
  readonly role: Role;
}

/** An invitation that nobody has taken up yet. */
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
   * Makes a user of the invitation's e-mail, a member, and the token void; all or nothing.
   * @throws StoreError `STORE_NOT_FOUND`; `STORE_CONFLICT` where the e-mail has a user, who accepts instead.
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
  get(id: string): Promise<User | undefined>;
  findByEmail(email: string): Promise<User | undefined>;
  /** Ends every session of the user as well. */
  setPassword(id: string, passwordHash: string): Promise<void>;
  /** Adds a member or changes the role. @throws StoreError `STORE_CONFLICT` where no owner would be left. */
  setMember(accountId: string, userId: string, role: Role): Promise<void>;
  /** @throws StoreError `STORE_CONFLICT` where the account would have no owner left. */
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

/** Sessions by opaque token; only a hash of it is kept. */
export interface SessionStore {
  /** Gives the token for the cookie. */
  create(userId: string, accountId: string, expiresAt: number): Promise<string>;
  /** Undefined for an unknown or expired token. */
  find(token: string): Promise<Session | undefined>;
  /** Another of the user's accounts. */
  switchAccount(token: string, accountId: string): Promise<void>;
  end(token: string): Promise<void>;
  endAll(userId: string): Promise<void>;
}
