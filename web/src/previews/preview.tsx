import { usePage } from '../page.ts';
import { Viewer } from './viewer.tsx';

/** The preview of the file that the address names. */
export function Preview() {
  const path = usePage().location.place.value.preview;
  return path === null ? null : <Viewer path={path} />;
}
