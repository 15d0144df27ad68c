import { shownName } from '../platform/text/shown-name.ts';

/** A name among other words: whatever its direction is, it pathLocks nothing around it, and nothing in it deceives. */
export function Name({ of }: { of: string }) {
  return <bdi>{shownName(of)}</bdi>;
}
