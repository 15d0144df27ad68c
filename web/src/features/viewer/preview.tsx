import type { ReadonlySignal } from '@preact/signals';
import type { ComponentType } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { nameOf } from '../../platform/paths.ts';
import { completeLanguage, type Language, useLanguage, useLanguageSignal } from '../../platform/text/language.ts';
import { IconButton } from '../../ui/button.tsx';
import { keyLabel } from '../../ui/keyboard.ts';
import { useLoaded } from '../../ui/loading.ts';
import { useModalDialog } from '../../ui/modal.ts';
import { whenPicturesLoaded } from '../../ui/when-idle.ts';
import { Name } from '../folder/entry-parts.tsx';
import { useRouter } from '../models.ts';
import { Loading, NotLoadedNotice } from './notices.tsx';
import type { ViewerProps } from './viewer.tsx';
import './viewer.css';

/**
 * The preview of the file in the URL. Its code, and that of image previews, loads when the browser is idle, or when
 * needed.
 */
export function Preview() {
  const path = useRouter().route.value.preview;
  const language = useLanguageSignal();
  useEffect(() => whenPicturesLoaded(() => void preload(language).catch(() => {})), []);
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
  const language = useLanguageSignal();
  const loaded = useLoaded(() => loadViewer(language));
  const [isInPlace] = useState(Viewer === undefined);
  const close = useClosePreview(path);
  if (Viewer) return <Viewer path={path} isInPlace={isInPlace} close={close} />;
  return <ViewerSkeleton path={path} retry={loaded.state === 'failed' ? loaded.retry : undefined} close={close} />;
}

/** Returns a function that closes the preview. Repeated calls have no effect: going back takes a moment. */
function useClosePreview(path: string): () => void {
  const router = useRouter();
  const closedPath = useRef<string | null>(null);
  useEffect(() => {
    closedPath.current = null;
    // A dialog that is already removed must not close another preview.
    return () => {
      closedPath.current = path;
    };
  }, [path]);
  return () => {
    if (closedPath.current === path || router.route.peek().preview === null) return;
    closedPath.current = path;
    router.closePreview();
  };
}

interface ViewerSkeletonProps {
  path: string;
  /** Loads the code again after a failure. */
  retry: (() => void) | undefined;
  close: () => void;
}

/** The placeholder of the viewer while its code loads. The user can already close it. */
function ViewerSkeleton({ path, retry, close }: ViewerSkeletonProps) {
  const { text } = useLanguage();
  const titleId = useId();
  const { dialog, listeners } = useModalDialog(close);
  return (
    <dialog ref={dialog} class="viewer" aria-labelledby={titleId} {...listeners}>
      <div class="frame">
        <div class="top">
          <div class="heading">
            <IconButton icon="close" label={text.controls.close} shortcut={keyLabel('Escape')} onClick={close} />
            <div class="name">
              <h1 id={titleId} class="truncated-name">
                <Name of={nameOf(path)} />
              </h1>
            </div>
          </div>
        </div>
        <div class="stage" tabIndex={-1} autofocus>
          {retry ? <NotLoadedNotice retry={retry} /> : <Loading />}
        </div>
      </div>
    </dialog>
  );
}
