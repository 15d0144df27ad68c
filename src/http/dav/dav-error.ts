/** An error that only WebDAV has. */
export class DavError extends Error {
  override readonly name = 'DavError';
  readonly status: number;
  /** The element of the precondition or postcondition that failed (RFC 4918, section 16), as XML. */
  readonly condition: string | undefined;

  constructor(status: number, message: string, condition?: string) {
    super(message);
    this.status = status;
    this.condition = condition;
  }
}
