import { shownName } from '../platform/text/names.ts';

/** The name of a file or folder within other text. Its direction does not affect the text around it. */
export function Name({ of }: { of: string }) {
  return <bdi>{shownName(of)}</bdi>;
}
