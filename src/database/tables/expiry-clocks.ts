/** The time of each kind of expiry. It advances slowly, so that a clock that is ahead does not remove everything. */
export interface ExpiryClocksTable {
  /** The name of the kind of job. */
  readonly kind: string;
  /** Milliseconds since 1970. */
  readonly time: number;
}
