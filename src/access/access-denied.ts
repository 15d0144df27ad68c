/** Somebody asked for what they may not do. */
export class AccessDenied extends Error {
  override readonly name = 'AccessDenied';
  /** Whether they have not said who they are, and might be allowed to as somebody. */
  readonly isAnonymous: boolean;

  constructor(message: string, { isAnonymous }: { isAnonymous: boolean }) {
    super(message);
    this.isAnonymous = isAnonymous;
  }
}
