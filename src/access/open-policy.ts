import { ROOT } from '../domain/path.ts';
import { createPolicy } from './policy.ts';
import { RIGHTS } from './rights.ts';

/** Everybody may everything: what holds where no access file says otherwise. */
export const OPEN_POLICY = createPolicy([], [{ folder: ROOT, to: { kind: 'everyone' }, rights: RIGHTS }]);
