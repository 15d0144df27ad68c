import type { Policy } from '../../access/policy.ts';
import type { WaysIn } from './ways-in.ts';

/** Who may reach the service, and what they may do. */
export interface AccessControl {
  /**
   * `local`: everybody on this machine may everything, and nobody else anything. `open`: whoever reaches the port may
   * everything. `file`: people may what an access file says.
   */
  readonly mode: 'local' | 'open' | 'file';
  /** What holds at this moment: the file may change while the service runs. */
  policy(): Policy;
  /** How people prove who they are; undefined where there is nobody to be. */
  readonly waysIn: WaysIn | undefined;
}
