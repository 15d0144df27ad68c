/** Something that goes wrong while clients are at work. */
export interface Fault<On> {
  readonly name: string;
  /** Lets it happen, and settles when it is felt. */
  begin(stage: On): Promise<void>;
  /** Ends its cause, and settles when all that was stopped is there again. */
  end(stage: On): Promise<void>;
  /** Whether it lasts until it is ended; else it is over as it happens, and can happen again. */
  readonly lasts: boolean;
  /** Why it can't be made to happen on this machine, if it can't. */
  whyNot?(stage: On): string | undefined;
  /** Whether no request may be refused or broken. */
  readonly isUnnoticed?: boolean;
}

/** Nothing goes wrong: what the others are compared with. */
export const NOTHING: Fault<object> = {
  name: 'none',
  lasts: true,
  isUnnoticed: true,
  begin: async () => {},
  end: async () => {},
};
