import type { ReadonlySignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useLoaded } from '../../ui/use-loaded.ts';
import { whenIdle } from '../../ui/when-idle.ts';
import { usePage } from '../page.ts';
import { completeLanguage, type Language } from '../../platform/text/language.ts';
import type { ViewerProps } from './viewer.tsx';
import { ViewerToCome } from './viewer-to-come.tsx';

/**
 * The preview of the file in the URL. Its code, and that of image previews, loads when the browser is idle, or when
 * needed.
 */
export function Preview() {
  const { location, language } = usePage();
  const path = location.place.value.preview;
  useEffect(() => whenIdle(() => void preload(language).catch(() => {})), []);
  return path === null ? null : <LazyViewer path={path} />;
}

/** Cached, so that later previews render immediately. */
let Viewer: ComponentType<ViewerProps> | undefined;

async function loadViewer(language: ReadonlySignal<Language>): Promise<void> {
  const [viewer] = await Promise.all([import('./viewer.tsx'), completeLanguage(language)]);
  Viewer = viewer.Viewer;
}

/** Preloads image previews, because users view images most often, one after the other. */
async function preload(language: ReadonlySignal<Language>): Promise<void> {
  await loadViewer(language);
  await import('./image/image-preview.tsx');
}

function LazyViewer({ path }: { path: string }) {
  const { language } = usePage();
  const loaded = useLoaded(() => loadViewer(language));
  const [isInPlace] = useState(Viewer === undefined);
  if (Viewer) return <Viewer path={path} isInPlace={isInPlace} />;
  return <ViewerToCome path={path} retry={loaded.state === 'failed' ? loaded.retry : undefined} />;
}
