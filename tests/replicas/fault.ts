/** A fault under load. */
export interface Fault<On> {
  readonly name: string;
  /** Causes the fault. Settles when it has an effect. */
  begin(stage: On): Promise<void>;
  /** Ends the cause. Settles when everything runs again. */
  end(stage: On): Promise<void>;
  /** Whether the fault lasts until `end`. Otherwise it is a single event that can be repeated. */
  readonly lasts: boolean;
  /** Returns the reason if this machine can't cause the fault. */
  whyNot?(stage: On): string | undefined;
  /** Whether all requests must succeed. */
  readonly isUnnoticed?: boolean;
}

/** No fault, for comparison. */
export const NOTHING: Fault<object> = {
  name: 'none',
  lasts: true,
  isUnnoticed: true,
  begin: async () => {},
  end: async () => {},
};
