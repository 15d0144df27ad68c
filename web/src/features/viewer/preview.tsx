import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useLoaded } from '../../ui/use-loaded.ts';
import { whenIdle } from '../../ui/when-idle.ts';
import { useRouter } from '../models.ts';
import type { ViewerProps } from './viewer.tsx';
import { ViewerToCome } from './viewer-to-come.tsx';

/**
 * The preview of the file in the URL. Its code, and that of image previews, loads when the browser is idle, or when
 * needed.
 */
export function Preview() {
  const path = useRouter().route.value.preview;
  useEffect(() => whenIdle(() => void preload().catch(() => {})), []);
  return path === null ? null : <LazyViewer path={path} />;
}

/** Cached, so that later previews render immediately. */
let Viewer: ComponentType<ViewerProps> | undefined;

async function loadViewer(): Promise<void> {
  Viewer ??= (await import('./viewer.tsx')).Viewer;
}

/** Preloads image previews, because users view images most often, one after the other. */
async function preload(): Promise<void> {
  await loadViewer();
  await import('./image/image-preview.tsx');
}

function LazyViewer({ path }: { path: string }) {
  const loaded = useLoaded(loadViewer);
  const [isInPlace] = useState(Viewer === undefined);
  if (Viewer) return <Viewer path={path} isInPlace={isInPlace} />;
  return <ViewerToCome path={path} retry={loaded.state === 'failed' ? loaded.retry : undefined} />;
}
