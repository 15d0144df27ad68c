import { type ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useLoaded } from '../controls/use-loaded.ts';
import { usePage } from '../page.ts';
import type { ViewerProps } from './viewer.tsx';
import { ViewerToCome } from './viewer-to-come.tsx';

/** The preview of the file that the address names. Its code is loaded when nothing else is to do, or at once when needed. */
export function Preview() {
  const path = usePage().location.place.value.preview;
  useEffect(() => whenIdle(() => void loadViewer().catch(() => {})), []);
  return path === null ? null : <LazyViewer path={path} />;
}

/** Kept, so that from then on it is drawn without a moment between. */
let Viewer: ComponentType<ViewerProps> | undefined;

async function loadViewer(): Promise<void> {
  Viewer ??= (await import('./viewer.tsx')).Viewer;
}

function LazyViewer({ path }: { path: string }) {
  const loaded = useLoaded(loadViewer);
  const [isInPlace] = useState(Viewer === undefined);
  if (Viewer) return <Viewer path={path} isInPlace={isInPlace} />;
  return <ViewerToCome path={path} retry={loaded.state === 'failed' ? loaded.retry : undefined} />;
}

/** Milliseconds that stand for an idle moment in browsers that don't tell of one. */
const REST = 2_000;

/** Gives what takes it back. */
function whenIdle(run: () => void): () => void {
  if (!('requestIdleCallback' in window)) {
    const timer = setTimeout(run, REST);
    return () => clearTimeout(timer);
  }
  const handle = requestIdleCallback(run);
  return () => cancelIdleCallback(handle);
}
