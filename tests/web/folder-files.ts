/** The files of a folder for tests of order, filter and selection: paths to contents. */
export const FOLDER_FILES = {
  'file 1.txt': 'one',
  'file 2.txt': 'two',
  'file 10.txt': 'a little longer',
  'Änderung.md': '#',
  'zebra.bin': 'z'.repeat(5000),
  'album/': '',
  'Music/': '',
  'Music/song.mp3': 'la',
  'Music/live/': '',
};
