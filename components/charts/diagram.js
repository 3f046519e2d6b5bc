export default ({ data, parentElement }) => {
  parentElement.querySelector(".diagram-place").innerHTML = data.svg
}
