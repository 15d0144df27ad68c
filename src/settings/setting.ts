import type { Reader } from './readers.ts';

/** One setting: an environment variable, its reader and its documentation. */
export interface Setting<Type> {
  readonly read: Reader<Type>;
  /** Default if the variable is missing or empty, in the syntax of the variable. Null if there is no default. */
  readonly defaultText: string | null;
  readonly example: string;
  readonly help: string;
  /** Whether the value is never printed. */
  readonly isSecret?: true;
  /** Whether the setting of a backend is required if that backend is selected. */
  readonly isRequired?: true;
}

/** Settings by name. */
export type SettingGroup = Readonly<Record<string, Setting<unknown>>>;

type ValueOf<Declared> = Declared extends Setting<infer Type> ? Type : never;

/** The values of a group of settings by name. A setting without a default can be undefined. */
export type ValuesOf<Group extends SettingGroup> = {
  readonly [Name in keyof Group]: Group[Name]['defaultText'] extends string
    ? ValueOf<Group[Name]>
    : ValueOf<Group[Name]> | undefined;
};

/** A setting that is required because of the values of others. */
export interface Requirement<Values> {
  readonly name: keyof Values & string;
  /**
   * Returns the end of the message "NAME is required …", or undefined if the setting is not required. Invalid and
   * missing settings are undefined in `values`.
   */
  readonly reason: (values: Partial<Values>) => string | undefined;
}

/** All errors in the settings, one per line. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(
      `The settings have ${problems.length === 1 ? 'an error' : `${problems.length} errors`}:\n${problems.map((problem) => `  ${problem}`).join('\n')}`,
    );
    this.problems = problems;
  }
}
