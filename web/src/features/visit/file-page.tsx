import { useLayoutEffect, useMemo } from 'preact/hooks';
import type { FileEntry } from '../../platform/service/service.ts';
import { useFullLanguage } from '../../platform/text/language.ts';
import { isForPage, keysOf } from '../../ui/keyboard.ts';
import mark from '../../ui/mark.svg';
import { Name } from '../folder/entry-parts.tsx';
import { FolderProblem } from '../folder/folder-states.tsx';
import { useFolder, usePreferences, useVisit } from '../models.ts';
import { SettingsButton } from '../toolbar/top-bar.tsx';
import { DownloadLink, MissingFile } from '../viewer/file-notices.tsx';
import { LazyPreview } from '../viewer/lazy-preview.tsx';
import { Loading } from '../viewer/notices.tsx';
import { Tools } from '../viewer/tool-group.tsx';
import { createViewerState, type ViewerState } from '../viewer/viewer-tools.ts';
import { Frame } from './frame.tsx';
import './visit.css';

/** The page of a link to one file: its preview, its name and size, and a button that downloads it. */
export function FilePage() {
  const folder = useFolder();
  const viewer = useMemo(() => createViewerState(), []);
  const file = folder.entries.value.find((entry): entry is FileEntry => entry.type === 'file');
  useToolKeys(viewer);
  return (
    <Frame>
      <div class="visit-page file-page">
        <Header file={file} viewer={viewer} />
        <main class="stage">
          {file && <LazyPreview key={file.etag} entry={file} viewer={viewer} />}
          {!file && <NoFile />}
        </main>
      </div>
    </Frame>
  );
}

/** Replaces the preview while the file is unknown. */
function NoFile() {
  const { state, problem } = useFolder();
  if (state.value === 'loading') return <Loading />;
  return problem.value && !problem.value.isNotFound ? <FolderProblem /> : <MissingFile />;
}

function Header({ file, viewer }: { file: FileEntry | undefined; viewer: ViewerState }) {
  const visit = useVisit();
  const { text, formats } = useFullLanguage();
  const link = visit?.link.value;
  const canDownload = file && link?.downloadsLeft !== 0;
  const details = [file && formats.size(file.size), visit?.conditions.value].filter(Boolean);
  return (
    <header class="visit-bar">
      <img class="mark" src={mark} alt="Holdall" draggable={false} />
      <div class="heading">
        <h1 class="truncated-name" title={file?.name}>
          <Name of={file?.name ?? link?.name ?? text.types.unknown} />
        </h1>
        <p class="numbers">
          {link?.label && (
            <>
              <Name of={link.label} />
              {' · '}
            </>
          )}
          {details.join(' · ')}
        </p>
      </div>
      <SettingsButton />
      <div class="buttons">
        <Tools viewer={viewer} />
        {canDownload && <DownloadLink entry={file} isPrimary />}
      </div>
    </header>
  );
}

/** Runs the tools of the preview by their keys, as the viewer does. */
function useToolKeys(viewer: ViewerState): void {
  const { characterKeys } = usePreferences();
  useLayoutEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || !isForPage(event)) return;
      const key = keysOf(event);
      if (key.length === 1 && !characterKeys.peek()) return;
      const tool = viewer.tools.peek().find(({ keys, button }) => keys.includes(key) && button?.disabled !== true);
      if (!tool) return;
      event.preventDefault();
      tool.run();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
}
